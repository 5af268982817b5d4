package stage_test

import (
	"slices"
	"testing"

	"github.com/trkr-dev/trkr-validate/ticket"
	"github.com/trkr-dev/trkr-validate/verdict"
)

const softer = "VAL-1: `tool` succeeds\nVAL-2: `tool` succeeds\n"

func TestSoftenedContractIsRefusedWithAllOtherReasons(t *testing.T) {
	k := newKit(t, scripted(allMet))
	k.commit(map[string]string{".trkr/tickets/7/contract.md": softer})
	k.write(map[string]string{"tool": "changed"})
	k.req.Config.Validate.Build = ""
	res := k.run(verdict.Refused)
	if got, want := reasons(res), []verdict.Reason{verdict.DirtyWorktree, verdict.BuildMissing, verdict.ContractChanged}; !slices.Equal(got, want) {
		t.Errorf("reasons %v, want %v", got, want)
	}
	if res.Record.Subject.ContractAccepted != "" {
		t.Errorf("accepted by %q", res.Record.Subject.ContractAccepted)
	}
}

func TestAcceptedContractIsRecordedAsSuch(t *testing.T) {
	k := newKit(t, scripted(allMet))
	k.commit(map[string]string{".trkr/tickets/7/contract.md": softer})
	digest := ""
	for _, by := range []string{verdict.AcceptedByPerson, verdict.AcceptedByDigest} {
		if digest == "" {
			digest = k.run(verdict.Refused).Record.Subject.ContractDigest
		}
		k.req.Agreed = ticket.Agreed{Digest: digest, By: by}
		res := k.run(verdict.Clear)
		if res.Record.Subject.ContractAccepted != by {
			t.Errorf("accepted by %q, want %q", res.Record.Subject.ContractAccepted, by)
		}
		if res.Recorded == nil || res.Recorded.Commit == "" {
			t.Errorf("that it was accepted by %s is not recorded: %+v", by, res.Recorded)
		}
	}
}

func TestNotesOfContractAndConfigurationAreFindings(t *testing.T) {
	k := newKit(t, scripted(allMet))
	k.git("branch", "-qf", "main")
	k.req.ConfigNote = "it differs"
	res := k.run(verdict.Clear)
	var places []string
	for _, f := range res.Record.Findings {
		if f.Severity != verdict.SeverityNote || f.ID == "" {
			t.Errorf("%+v", f)
		}
		places = append(places, f.Place)
	}
	if want := []string{"config", "contract"}; !slices.Equal(places, want) {
		t.Errorf("places %q, want %q", places, want)
	}
}
