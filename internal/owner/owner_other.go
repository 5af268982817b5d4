//go:build unix && !linux

package owner

import (
	"errors"
	"sync"

	"golang.org/x/sys/unix"
)

var bootID = sync.OnceValue(func() string {
	id, err := unix.Sysctl("kern.bootsessionuuid")
	if err != nil {
		return ""
	}
	return id
})

func pidSpace() uint64 { return 0 }

func startTime(pid int) (uint64, bool) {
	err := unix.Kill(pid, 0)
	return 0, err == nil || errors.Is(err, unix.EPERM)
}
