"""A trained model of every kind, and what it predicts: files written once must be read for ever.

python -m tests.golden       writes them again, after a change that was meant to make old files unreadable
"""
