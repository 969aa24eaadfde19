// Package policy has the commands about policies that need no service: evaluate-policy and doctor
// read logged decisions, and plan says how long an experiment will take.
package policy
