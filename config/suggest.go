package config

import "strings"

// Nearest finds the candidate that a misspelt word most likely meant, or "" where none is near: at most a third of
// its letters may differ, two neighbours swapped count as one, and case counts as nothing.
func Nearest(word string, candidates []string) string {
	best, bestDistance := "", 0
	for _, c := range candidates {
		d := distance(fold(word), fold(c))
		if d <= max(1, len(c)/3) && (best == "" || d < bestDistance) {
			best, bestDistance = c, d
		}
	}
	return best
}

// fold makes allowedTracked, allowed-tracked and allowed_tracked the same.
func fold(s string) string {
	return strings.ToLower(strings.NewReplacer("_", "", "-", "").Replace(s))
}

// distance is the optimal string alignment distance. Words longer than any key are far from all.
func distance(a, b string) int {
	if len(a) > 64 || len(b) > 64 {
		return 64
	}
	rows := make([][]int, len(a)+1)
	for i := range rows {
		rows[i] = make([]int, len(b)+1)
		rows[i][0] = i
	}
	for j := range rows[0] {
		rows[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			rows[i][j] = min(rows[i-1][j]+1, rows[i][j-1]+1, rows[i-1][j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				rows[i][j] = min(rows[i][j], rows[i-2][j-2]+1)
			}
		}
	}
	return rows[len(a)][len(b)]
}
