//go:build linux && (amd64 || arm64)

package gvisor

import (
	"fmt"
	"math"
	"math/rand/v2"

	"golang.org/x/sys/unix"
)

// chooseCPUs picks the cores of a box from those this program may use: as many as asked for, rounded up, from a random
// place on so that boxes side by side spread. The text says what is in force.
func chooseCPUs(asked float64) (*unix.CPUSet, string, error) {
	var allowed unix.CPUSet
	if err := unix.SchedGetaffinity(0, &allowed); err != nil {
		return nil, "", fmt.Errorf("reading the usable cores: %w", err)
	}
	chosen, n := pickCPUs(allowed, int(math.Ceil(asked)), rand.IntN)
	text := fmt.Sprintf("%d of %d cores enforced", n, allowed.Count())
	if float64(n) > asked {
		text += fmt.Sprintf(" (%g asked for, whole cores only)", asked)
	}
	return &chosen, text, nil
}

// pickCPUs picks at most n cores, at least one.
func pickCPUs(allowed unix.CPUSet, n int, random func(int) int) (unix.CPUSet, int) {
	var usable []int
	for cpu := range len(allowed) * 64 {
		if allowed.IsSet(cpu) {
			usable = append(usable, cpu)
		}
	}
	n = max(1, min(n, len(usable)))
	var chosen unix.CPUSet
	from := random(len(usable))
	for i := range n {
		chosen.Set(usable[(from+i)%len(usable)])
	}
	return chosen, n
}
