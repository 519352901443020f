"""[RPB12]: an adversary's beliefs, revised release by release."""
