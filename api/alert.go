package api

import "time"

// Alert is what the service sends to its webhook.
type Alert struct {
	// Format is the version of this form, 1.
	Format int `json:"format" enum:"1"`
	// ID is the same whenever the alert is sent again, and no other alert has it.
	ID string `json:"id"`
	// Key names what is wrong, such as breach:toy:errors. The alerts that raise and resolve it have
	// the same one.
	Key string `json:"key"`
	// Kind is breach, action, sample_ratio, refused, disk, memory, clock, privacy or test.
	Kind string `json:"kind" enum:"breach,action,sample_ratio,refused,disk,memory,clock,privacy,test"`
	// State is raised, resolved, or happened for what has no end.
	State string `json:"state" enum:"raised,resolved,happened"`
	// Time is when the alert was made, Since when what is wrong began.
	Time  time.Time `json:"time"`
	Since time.Time `json:"since"`
	// Experiment, Metric and Arm are what it is about, "" where it is about all.
	Experiment string `json:"experiment,omitempty"`
	Metric     string `json:"metric,omitempty"`
	Arm        string `json:"arm,omitempty"`
	// Token is the name of the access token whose items count for no experiment, with the kind
	// refused.
	Token string `json:"token,omitempty"`
	// Text says it to people.
	Text string `json:"text"`
}

// The states of an [Alert].
const (
	AlertRaised   = "raised"
	AlertResolved = "resolved"
	AlertHappened = "happened"
)

// Alerts says what is wrong now, and how the webhook is.
type Alerts struct {
	// Active are the alerts that were raised and not resolved.
	Active []Alert `json:"active"`
	// Webhook reports whether a webhook is configured. Waiting is the number of alerts not yet sent
	// to it, and Failure the error of the last attempt, "" after a success.
	Webhook bool   `json:"webhook"`
	Waiting int    `json:"waiting"`
	Failure string `json:"failure,omitempty"`
}
