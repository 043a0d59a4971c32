"""Tokens as single vectors shared by several orthonormal bases; and how many quasi-orthogonal directions fit."""
