"""What all tests have in common."""


def pytest_collection_modifyitems(items):
    """Tests that start Ray are one long chain: it begins first, and the others run beside it."""
    items.sort(key=lambda item: not item.path.name.startswith("test_ray_"))
