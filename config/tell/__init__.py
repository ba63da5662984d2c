"""Help texts, messages, schema and reference page, made from the models."""
