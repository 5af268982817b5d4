package config

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// units in the order in which they are tried for showing; what comes after B is only read.
var units = []struct {
	name  string
	bytes int64
}{
	{"TiB", 1 << 40},
	{"GiB", 1 << 30},
	{"MiB", 1 << 20},
	{"KiB", 1 << 10},
	{"B", 1},
	{"TB", 1e12},
	{"GB", 1e9},
	{"MB", 1e6},
	{"KB", 1e3},
	{"T", 1 << 40},
	{"G", 1 << 30},
	{"M", 1 << 20},
	{"K", 1 << 10},
}

// ParseSize reads "2GiB", "512 MiB", "1.5G", "10MB". The unit is needed; its case is not looked at. GB is 10^9, G and
// GiB are 2^30.
func ParseSize(s string) (int64, error) {
	digits := strings.TrimRight(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
	unit, number := s[len(digits):], strings.TrimSpace(digits)
	v, err := strconv.ParseFloat(number, 64)
	if err != nil || strings.Trim(number, "-0123456789.") != "" {
		return 0, fmt.Errorf("%s is not a size", quote(s))
	}
	for _, u := range units {
		if !strings.EqualFold(u.name, unit) {
			continue
		}
		bytes := v * float64(u.bytes)
		if bytes >= math.MaxInt64 || bytes <= math.MinInt64 {
			return 0, fmt.Errorf("%s is too large", quote(s))
		}
		return int64(bytes), nil
	}
	return 0, fmt.Errorf("%s is not a size", quote(s))
}

// FormatSize writes n in the largest unit that holds it exactly, so that ParseSize gives n again.
func FormatSize(n int64) string {
	for _, u := range units {
		if u.bytes > 1 && n%u.bytes == 0 && n != 0 {
			return fmt.Sprintf("%d%s", n/u.bytes, u.name)
		}
		if u.bytes == 1 {
			break
		}
	}
	return fmt.Sprintf("%dB", n)
}

// size is a limit in bytes of which less than least cannot work.
func size(least int64) kind[int64] {
	const hint = `write a number and a unit: "512MiB", "2GiB"`
	return kind[int64]{
		read: func(n node) (int64, []Problem) {
			if fmt.Sprint(n.value) == "0" {
				return 0, positive(n, 0)
			}
			s, problems := readString(n, nil)
			if problems != nil {
				problems[0].Hint = hint
				return 0, problems
			}
			v, err := ParseSize(s)
			if err != nil {
				return 0, []Problem{{Line: n.line, Text: err.Error(), Hint: hint}}
			}
			if problems := positive(n, float64(v)); problems != nil {
				return 0, problems
			}
			if v < least {
				return 0, []Problem{{Line: n.line, Text: fmt.Sprintf("must be at least %s, not %s", FormatSize(least), s)}}
			}
			return v, nil
		},
		text: literal,
		show: func(v int64) any { return FormatSize(v) },
	}
}
