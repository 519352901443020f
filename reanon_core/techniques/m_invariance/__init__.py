"""m-invariance, after Xiao and Tao (2007): each person is always hidden among the same values. See PAPER.md."""
