package owner

import (
	"os"
	"os/exec"
	"runtime"
	"testing"

	"pgregory.net/rapid"
)

func TestSelfIsAlive(t *testing.T) {
	o := Self()
	if o.PID != os.Getpid() || o.UID != os.Getuid() {
		t.Fatalf("Self() = %+v", o)
	}
	if runtime.GOOS == "linux" && (o.Start == 0 || o.Boot == "" || o.Space == 0) {
		t.Fatalf("Self() lacks start time, boot id or namespace: %+v", o)
	}
	if !o.Alive() {
		t.Fatalf("%v is not alive", o)
	}
}

func TestOthersAreNot(t *testing.T) {
	o := Self()
	other := o
	other.Boot = "00000000-0000-0000-0000-000000000000"
	if other.Alive() {
		t.Error("a program of another boot is alive")
	}
	if runtime.GOOS == "linux" {
		other = o
		other.Start++
		if other.Alive() {
			t.Error("a reused pid is alive")
		}
	}
}

// TestOtherNamespace: of a program in another container that shares our folders nobody can tell that it is dead.
func TestOtherNamespace(t *testing.T) {
	o := Self()
	o.Start++
	o.Space++
	if !o.Alive() {
		t.Error("a program of another pid namespace is dead")
	}
	o.Boot = "00000000-0000-0000-0000-000000000000"
	if o.Alive() {
		t.Error("it outlived the machine's boot")
	}
}

func TestEndedIsDead(t *testing.T) {
	cmd := exec.Command("sleep", "60")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	start, ok := startTime(cmd.Process.Pid)
	if !ok {
		t.Fatal("a running process has no start time")
	}
	o := Owner{PID: cmd.Process.Pid, Start: start, Boot: Self().Boot, UID: Self().UID, Space: Self().Space}
	if !o.Alive() {
		t.Error("a running process is dead")
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	if o.Alive() {
		t.Error("an ended process is alive")
	}
}

func TestRoundTrip(t *testing.T) {
	if got, err := Parse(Self().String()); err != nil || got != Self() {
		t.Fatalf("Parse(%q) = %+v, %v", Self(), got, err)
	}
	rapid.Check(t, func(t *rapid.T) {
		o := Owner{
			PID:   rapid.IntRange(1, 1<<22).Draw(t, "pid"),
			Start: rapid.Uint64().Draw(t, "start"),
			Boot:  rapid.StringMatching(`[0-9a-f-]{0,36}`).Draw(t, "boot"),
			UID:   rapid.IntRange(0, 1<<31-1).Draw(t, "uid"),
			Space: rapid.Uint64().Draw(t, "space"),
		}
		if got, err := Parse(o.String()); err != nil || got != o {
			t.Fatalf("Parse(%q) = %+v, %v", o, got, err)
		}
	})
}

func TestParseRefuses(t *testing.T) {
	for _, s := range []string{
		"", "1.2.3.4", "1.2.3.b", "0.2.3.4.b", "-1.2.3.4.b", "x.2.3.4.b", "1.x.3.4.b", "1.2.x.4.b", "1.2.3.x.b", "1.2.3.-4.b", "01.2.3.4.b",
		"1.2.3.04.b", "1.2.3.4.b/../c", "1.2.3.4.b\n", "1.+2.3.4.b", "1.2.3.4.5.b",
	} {
		if o, err := Parse(s); err == nil {
			t.Errorf("Parse(%q) = %+v", s, o)
		}
	}
}
