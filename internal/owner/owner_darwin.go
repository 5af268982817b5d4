package owner

import (
	"errors"
	"strconv"

	"golang.org/x/sys/unix"
)

func system() (boot, space string, err error) {
	boot, err = unix.Sysctl("kern.bootsessionuuid")
	return boot, "0", err
}

// started is the start time of a process in microseconds.
func started(pid int) (start string, alive bool, err error) {
	info, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	if errors.Is(err, unix.EIO) || errors.Is(err, unix.ESRCH) {
		return "", false, nil // the system answers with nothing for a pid that is free
	}
	if err != nil {
		return "", false, err
	}
	const zombie = 5
	t := info.Proc.P_starttime
	return strconv.FormatInt(t.Sec*1e6+int64(t.Usec), 10), info.Proc.P_stat != zombie, nil
}
