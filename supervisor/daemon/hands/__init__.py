"""Hands: one file per kind of deed; each carries out one instruction and answers with one event."""
