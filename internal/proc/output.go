package proc

import (
	"fmt"
	"io"
	"os"
	"time"
)

// passOn copies what comes out of a pipe to w until the pipe ends or its read deadline passes, and tells how that
// went. A writer that fails does not stop the reading: the command must not notice.
func passOn(r *os.File, w io.Writer) <-chan error {
	done := make(chan error, 1)
	go func() {
		var failed error
		buf := make([]byte, 64<<10)
		for {
			n, err := r.Read(buf)
			if n > 0 && w != nil && failed == nil {
				if _, werr := w.Write(buf[:n]); werr != nil {
					failed = fmt.Errorf("writing the command's output: %w", werr)
				}
			}
			if err != nil {
				done <- failed
				return
			}
		}
	}()
	return done
}

// drain waits for the end of the output, but not for a process out of reach that still holds the pipe.
func drain(r *os.File, done <-chan error) error {
	_ = r.SetReadDeadline(time.Now().Add(drainLimit))
	return <-done
}
