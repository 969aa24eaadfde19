package personalizer

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/api"
	"github.com/noregret/noregret/experiment/definition"
	"github.com/noregret/noregret/experiment/join"
	"github.com/noregret/noregret/policy"
	"github.com/noregret/noregret/server/internal/web"
)

// memory is a service that keeps decisions and reports in memory.
type memory struct {
	policy     *policy.Policy
	definition *definition.Definition
	kept       map[uint64]join.Unit
	full       bool
	exposed    []uint64
	values     map[uint64]map[string]float64
}

const shop = `name: shop
arms: [{name: a, value: 1}, {name: b, value: 2}, {name: c, value: 3}]
metrics: [{name: bought, range: [0, 1]}]
objective: {goals: [{metric: bought}]}
`

func newMemory(t *testing.T) *memory {
	t.Helper()
	d, err := definition.Parse("shop.yaml", []byte(shop))
	if err != nil {
		t.Fatal(err)
	}
	split, err := policy.NewSplit([]float64{0.5, 0.3, 0.2})
	if err != nil {
		t.Fatal(err)
	}
	p := &policy.Policy{
		Experiment: "shop", Version: 4, Salt: "shop", Control: -1, Stream: "arm",
		Links: []policy.Link{{Version: 4, Split: split}},
		Arms:  []policy.Arm{{Name: "a"}, {Name: "b"}, {Name: "c"}},
	}
	if err := p.Prepare(nil); err != nil {
		t.Fatal(err)
	}
	return &memory{
		policy: p, definition: d, kept: map[uint64]join.Unit{}, values: map[uint64]map[string]float64{},
	}
}

func (m *memory) Policy(name string) (*policy.Policy, *policy.Encoder, error) {
	if name != "shop" {
		return nil, nil, noregret.Errorf(noregret.NotFound, "name", "no experiment %q", name)
	}
	return m.policy, nil, nil
}

func (m *memory) Definition(string) (*definition.Definition, error) { return m.definition, nil }

func (m *memory) KeptArm(_ string, unit uint64) (arm int, ok bool) {
	e, ok := m.kept[unit]
	return e.Arm, ok
}

func (m *memory) Keep(_ *http.Request, _ string, e join.Unit) (api.ItemResult, error) {
	if m.full {
		return api.ItemResult{Status: api.Rejected, Error: "no room"}, nil
	}
	unit, ok := e.Hash()
	if !ok {
		return api.ItemResult{}, fmt.Errorf("the unit is %q", e.Unit)
	}
	m.kept[unit] = e
	return api.ItemResult{Status: api.Accepted}, nil
}

func (m *memory) Expose(_ *http.Request, _ string, unit uint64) (api.ItemResult, error) {
	m.exposed = append(m.exposed, unit)
	return api.ItemResult{Status: api.Accepted}, nil
}

func (m *memory) Feedback(_ *http.Request, _ string, unit uint64, v map[string]float64) (api.ItemResult, error) {
	m.values[unit] = v
	return api.ItemResult{Status: api.Accepted}, nil
}

// post calls the handler of the route of a short path and returns the status and the body.
func post(t *testing.T, m *memory, path, body string) (int, string) {
	t.Helper()
	mux := http.NewServeMux()
	for _, rt := range New(m).Routes() {
		mux.HandleFunc(rt.Method+" "+rt.Pattern, func(w http.ResponseWriter, r *http.Request) {
			if err := rt.Serve(w, r); err != nil {
				w.WriteHeader(web.StatusOf(err))
			}
		})
	}
	w := httptest.NewRecorder()
	mux.ServeHTTP(w, httptest.NewRequest("POST", "/v1/experiments"+path, strings.NewReader(body)))
	return w.Code, w.Body.String()
}

// TestTranslation checks what a rank, an activation and a reward become for the service.
func TestTranslation(t *testing.T) {
	m := newMemory(t)
	const actions = `"actions": [{"id": "c"}, {"id": "b"}, {"id": "a"}]`
	redrawn := 0
	for i := range 100 {
		id := fmt.Sprint("e", i)
		body := fmt.Sprintf(`{"eventId": %q, "deferActivation": %v, "excludedActions": ["a"], %s}`, id, i%2 == 0, actions)
		status, text := post(t, m, "/shop/rank", body)
		var out RankResponse
		if err := json.Unmarshal([]byte(text), &out); err != nil || status != http.StatusCreated {
			t.Fatalf("status %d: %s", status, text)
		}
		unit := m.policy.Unit(id)
		choice, err := m.policy.DecideAmong(id, nil, []bool{false, true, true})
		if err != nil {
			t.Fatal(err)
		}
		want := join.Unit{
			Version: 4, Arm: choice.Arm, Propensity: choice.Propensity, Unit: policy.FormatUnit(unit),
			Kept: &join.Kept{Among: []int{1, 2}, Redrawn: choice.Redrawn, Deferred: i%2 == 0},
		}
		if d := cmp.Diff(want, m.kept[unit]); d != "" {
			t.Fatalf("-want +kept\n%s", d)
		}
		if choice.Redrawn {
			redrawn++
		}
		ids := []string{out.Ranking[0].ID, out.Ranking[1].ID}
		slices.Sort(ids)
		if out.RewardActionID != choice.Name || out.Ranking[0].ID != choice.Name ||
			!slices.Equal(ids, []string{"b", "c"}) || out.Ranking[2] != (RankedAction{"a", 0}) {
			t.Errorf("%+v, want %s first and a last", out, choice.Name)
		}
	}
	if redrawn < 30 || redrawn > 70 {
		t.Errorf("%d of 100 decisions were drawn again", redrawn)
	}
	// A repeated rank gets the action that is kept, whatever the policy decides now.
	unit := m.policy.Unit("e0")
	e := m.kept[unit]
	e.Arm = 3 - e.Arm
	m.kept[unit] = e
	if _, text := post(t, m, "/shop/rank", `{"eventId": "e0", `+actions+`}`); !strings.Contains(text,
		fmt.Sprintf(`"rewardActionId":%q`, m.policy.Arms[e.Arm].Name)) {
		t.Errorf("a repeated rank: %s", text)
	}
	if status, text := post(t, m, "/shop/personalizer/v1.0/events/e0/reward", `{"value": 0.5}`); status != 204 {
		t.Errorf("a reward: status %d: %s", status, text)
	}
	if status, text := post(t, m, "/shop/events/e0/activate", ""); status != 204 {
		t.Errorf("an activation: status %d: %s", status, text)
	}
	if m.values[unit]["bought"] != 0.5 || !slices.Equal(m.exposed, []uint64{unit}) {
		t.Errorf("values %v, exposed %v", m.values, m.exposed)
	}
}

// TestRefusals checks the forms of errors.
func TestRefusals(t *testing.T) {
	m := newMemory(t)
	for _, c := range []struct {
		path, body, want string
		status           int
	}{
		{"/none/rank", `{"actions": [{"id": "a"}]}`, "ResourceNotFound", 404},
		{"/shop/personalizer/v9/rank", `{"actions": [{"id": "a"}]}`, "ResourceNotFound", 404},
		{"/shop/rank", `{"actions": [{"id": "x"}]}`, BadRank, 400},
		{"/shop/events/e/reward", `{}`, BadReward, 400},
		{"/shop/events/" + strings.Repeat("e", 513) + "/activate", ``, BadActivate, 400},
	} {
		if status, text := post(t, m, c.path, c.body); status != c.status || !strings.Contains(text, `"code":"`+c.want) {
			t.Errorf("%s: status %d: %s, want %d and %s", c.path, status, text, c.status, c.want)
		}
	}
	m.full = true
	if status, text := post(t, m, "/shop/rank", `{"actions": [{"id": "a"}]}`); status != 429 || text != "" {
		t.Errorf("without room: status %d: %s, want a problem with 429", status, text)
	}
	m.definition.Objective = nil
	if _, text := post(t, m, "/shop/rank", `{"actions": [{"id": "a"}]}`); !strings.Contains(text, "0 goals") {
		t.Errorf("without a goal: %s", text)
	}
}
