package alert

import (
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/api"
)

// Form is the form of the requests to the webhook.
type Form string

// The forms.
const (
	// JSON is the form of docs/service.md: an alert in a request, as a [api.Alert], signed.
	JSON Form = "json"
	// Slack is a message for people, as the incoming webhooks of Slack take it.
	Slack Form = "slack"
	// Alertmanager is that of POST /api/v2/alerts of Prometheus's Alertmanager.
	Alertmanager Form = "alertmanager"
)

// Forms are all forms.
var Forms = []Form{JSON, Slack, Alertmanager}

const (
	// repeatPeriod is the least time after which an Alertmanager gets again what is wrong. It takes
	// an alert for resolved that it has not heard of for the time in the latest request, which is
	// activeTime: with it three requests in a row may be lost.
	repeatPeriod = time.Minute
	activeTime   = 4 * time.Minute
	// alertsPath is the end of the path of an Alertmanager's address.
	alertsPath = "/api/v2/alerts"
)

// Check returns an error for a form that is not known, or that does not fit the webhook's address
// or a missing secret.
func (f Form) Check(address string, secret bool) error {
	switch {
	case f != "" && !slices.Contains(Forms, f):
		return noregret.Errorf(noregret.Usage, "alert webhook format", "%q: want json, slack or alertmanager",
			string(f))
	case address != "" && !secret && (f == JSON || f == ""):
		return noregret.Errorf(noregret.Usage, "alert webhook",
			"the form json is signed: want both an address and a file with a secret, or none")
	case f == Alertmanager && address != "":
		if u, err := url.Parse(address); err != nil || !strings.HasSuffix(u.Path, alertsPath) {
			return noregret.Errorf(noregret.Usage, "alert webhook",
				"want the address of an Alertmanager's alerts, such as http://alertmanager.example:9093%s", alertsPath)
		}
	}
	return nil
}

// repeats reports whether the receiver forgets alerts that are not sent again.
func (f Form) repeats() bool { return f == Alertmanager }

// body returns the body of a request with alerts at a time by the machine's clock, with links to
// the service unless its address is "".
func (f Form) body(alerts []api.Alert, service string, at time.Time) ([]byte, error) {
	switch f {
	case Slack:
		return slackBody(&alerts[0], service)
	case Alertmanager:
		var out []managed
		for i := range alerts {
			out = append(out, managedOf(&alerts[i], service, at.UTC()))
		}
		return json.Marshal(out)
	}
	return json.Marshal(alerts[0])
}

// linkOf returns the address of what an alert is about, "" if that of the service is not known.
func linkOf(a *api.Alert, service string) string {
	if service = strings.TrimRight(service, "/"); service == "" {
		return ""
	}
	if a.Experiment == "" {
		return service + "/"
	}
	return service + "/experiments/" + url.PathEscape(a.Experiment)
}

// slackEscapes are the characters that Slack gives a meaning, such as in <!channel>.
var slackEscapes = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")

// slackBody returns the message of an alert. Its text is no markup: an arm may be named *a*.
func slackBody(a *api.Alert, service string) ([]byte, error) {
	word := map[string]string{
		api.AlertRaised: "Alert", api.AlertResolved: "Resolved", api.AlertHappened: "Happened",
	}[a.State]
	about := "the service"
	if a.Experiment != "" {
		about = "the experiment " + a.Experiment
	}
	text := slackEscapes.Replace(fmt.Sprintf("%s: %s (%s of %s, since %s)", word, a.Text, a.Kind, about,
		a.Since.UTC().Format(time.RFC3339)))
	if link := linkOf(a, service); link != "" {
		text += "\n<" + slackEscapes.Replace(link) + ">"
	}
	return json.Marshal(struct {
		Text   string `json:"text"`
		Markup bool   `json:"mrkdwn"`
		Unfurl bool   `json:"unfurl_links"`
	}{Text: text})
}

// managed is an alert as an Alertmanager takes it. The labels are what it is known by: the requests
// that raise, repeat and resolve it have the same ones.
type managed struct {
	Labels      map[string]string `json:"labels"`
	Annotations map[string]string `json:"annotations"`
	StartsAt    time.Time         `json:"startsAt"`
	EndsAt      time.Time         `json:"endsAt"`
	Generator   string            `json:"generatorURL,omitempty"`
}

// managedOf returns the form of an alert. The receiver compares its times with its own clock, from
// which the service's may differ for hours after a step: no time is after that of the machine, and
// the end is not before the start, which the receiver would refuse.
func managedOf(a *api.Alert, service string, at time.Time) managed {
	out := managed{
		Labels:      map[string]string{"alertname": "noregret_" + a.Kind, "key": a.Key},
		Annotations: map[string]string{"summary": a.Text}, Generator: linkOf(a, service),
		StartsAt: earlier(a.Since.UTC(), at), EndsAt: at.Add(activeTime),
	}
	switch a.State {
	case api.AlertResolved:
		out.EndsAt = earlier(a.Time.UTC(), at)
	case api.AlertHappened:
		out.Labels["id"] = a.ID // two of a key are two alerts
	}
	for name, value := range map[string]string{"experiment": a.Experiment, "metric": a.Metric, "arm": a.Arm} {
		if value != "" {
			out.Labels[name] = value
		}
	}
	if out.EndsAt.Before(out.StartsAt) {
		out.StartsAt = out.EndsAt
	}
	return out
}

// earlier returns the earlier of two times.
func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}
