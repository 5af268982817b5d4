package docker

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"testing"

	"github.com/docker/docker/api/types/container"

	"github.com/trkr-dev/trkr-validate/internal/owner"
	"github.com/trkr-dev/trkr-validate/sandbox"
)

// childBox starts a box, tells that it runs, and goes on until it is killed.
func childBox() int {
	_, err := newEngine(Options{Init: os.Getenv("INIT")}).Start(context.Background(), sandbox.Spec{
		RunID: os.Getenv("RUN"), Input: os.Getenv("INPUT"), Image: "host",
		Limits: sandbox.Limits{Memory: 256 << 20, CPUs: 1, Pids: 64, Output: 1 << 20, Tmp: 16 << 20},
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	fmt.Println("running")
	select {}
}

func TestSweepRemovesWhatAKilledProgramLeft(t *testing.T) {
	e := testEngine(t)
	spec := testSpec(t, "host")
	live := start(t, e, spec)

	dead := spec
	dead.RunID += "-dead"
	child := exec.Command("/proc/self/exe")
	child.Env = append(os.Environ(), childVar+"=box", "RUN="+dead.RunID, "INPUT="+dead.Input, "INIT="+e.options.Init)
	child.Stderr = os.Stderr
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil || line != "running\n" {
		t.Fatalf("the child printed %q, %v", line, err)
	}
	left := boxes(t, e, dead.RunID)
	if len(left) != 1 {
		t.Fatalf("boxes of the child: %v", left)
	}
	if swept, err := e.Sweep(t.Context(), true); err != nil || slices.Contains(swept, left[0]) {
		t.Errorf("a sweep beside the living child would remove %v, %v", swept, err)
	}
	if err := child.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = child.Wait()

	if swept, err := e.Sweep(t.Context(), true); err != nil || !slices.Contains(swept, left[0]) {
		t.Errorf("Sweep(dry) = %v, %v; want %s among them", swept, err, left[0])
	}
	if now := boxes(t, e, dead.RunID); len(now) != 1 {
		t.Errorf("a dry sweep left %v", now)
	}
	if swept, err := e.Sweep(t.Context(), false); err != nil || !slices.Contains(swept, left[0]) {
		t.Errorf("Sweep() = %v, %v; want %s among them", swept, err, left[0])
	}
	if now := boxes(t, e, dead.RunID); len(now) != 0 {
		t.Errorf("left behind: %v", now)
	}
	if out, exit := sh(t, live, "echo lives"); out != "lives\n" || exit.Code != 0 {
		t.Errorf("the live box printed %q, %s", out, exit)
	}
}

func TestSweepLeavesWhatIsNotOurs(t *testing.T) {
	e := testEngine(t)
	ref := busybox(t, e, "foreign")
	d, err := e.connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	gone := owner.Self()
	gone.Start++
	other := gone
	other.UID++
	elsewhere := gone
	elsewhere.Space++
	rebooted := gone
	rebooted.Boot = "00000000-0000-0000-0000-000000000000"
	for name, labels := range map[string]map[string]string{
		"another user":          {labelOwner: other.String(), labelMachine: machine()},
		"another pid namespace": {labelOwner: elsewhere.String(), labelMachine: machine()},
		"another machine":       {labelOwner: rebooted.String(), labelMachine: machine() + "-2"},
		"unreadable":            {labelOwner: "nonsense", labelMachine: machine()},
	} {
		made, err := d.ContainerCreate(t.Context(), &container.Config{Image: ref, Cmd: []string{"true"}, Labels: labels}, nil, nil, nil, "")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := d.remove(context.Background(), made.ID, false); err != nil {
				t.Error(err)
			}
		})
		if _, err := e.Sweep(t.Context(), false); err != nil {
			t.Error(err)
		}
		if _, err := d.ContainerInspect(t.Context(), made.ID); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
