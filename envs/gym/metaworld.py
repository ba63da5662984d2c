"""Tasks of Meta-World by an id each, such as Meta-World/reach-v3. The package registers one id for all of them."""

import gymnasium


def register() -> None:
    """Registers each task of Meta-World."""
    from config.own import env_packages

    names = env_packages.load("metaworld.env_dict").ALL_V3_ENVIRONMENTS
    entry = gymnasium.registry["Meta-World/MT1"].entry_point
    for name in names:
        gymnasium.register(f"Meta-World/{name}", entry, kwargs={"env_name": name})
