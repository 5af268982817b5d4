package initd

import (
	"bufio"
	"errors"
	"fmt"
	"os"

	"github.com/trkr-dev/trkr-validate/sandbox"
	"github.com/trkr-dev/trkr-validate/sandbox/internal/wire"
)

// What the helper that removes is told: the directory of its session, and where its System V objects begin.
const (
	removeVar = "TRKR_REMOVE"
	marksVar  = "TRKR_IPC"
)

// helperMain is a helper: this program under the uid of a session.
func helperMain(name string) int {
	uid := os.Getuid()
	var err error
	if name == wire.HelperRemove {
		err = remove(uid)
	} else {
		out := bufio.NewWriterSize(os.Stdout, wire.MaxData)
		v := View{Root: sandbox.Root, Dir: "/", Path: os.Getenv("PATH")}
		if err = v.Help(name, uid, os.Stdin, out); err == nil {
			err = out.Flush()
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// remove removes all that a session left and no process of it has.
func remove(uid int) error {
	err := Remove(uid, os.Getenv(removeVar), append(sharedDirs, Work)...)
	marks, bad := parseMarks(os.Getenv(marksVar))
	if bad == nil {
		bad = removeIPC(uid, marks)
	}
	err = errors.Join(err, bad)
	if uid == wire.InstallUID {
		err = errors.Join(err, Seal(sandbox.Prefix, uid))
	}
	return err
}
