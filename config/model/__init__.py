"""What can be set: the strict models of the sections and their types. Imports nothing heavy."""
