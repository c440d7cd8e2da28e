"""Plugins for the hard cases of the contract, one shape per module.

They stand for real programs but are examples: the smallest code that shows how a shape is said.
``docs/contract-cases.md`` tells which field of the contract carries which case.
"""
