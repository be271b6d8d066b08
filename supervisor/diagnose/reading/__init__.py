"""Files and folders of evidence into a bundle: the only part of the engine that touches a filesystem."""
