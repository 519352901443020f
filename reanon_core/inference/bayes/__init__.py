"""[RPB12]: what an adversary believes, revised release by release."""
