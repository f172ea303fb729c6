"""Small programs of one or a few operators, by family. Each module has cases(), which yields Case."""
