"""Cor-Split, after Riboni and Bettini (2009): releases that survive compromised people. See PAPER.md."""
