"""Generates the initial objects of a simulated cluster from those of a real control plane."""
