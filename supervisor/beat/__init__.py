"""What runs inside a rank, and the reader of its pages."""
