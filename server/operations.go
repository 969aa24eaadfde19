package server

import (
	"errors"
	"net/http"

	"github.com/noregret/noregret/server/internal/access"
	"github.com/noregret/noregret/server/internal/web"
)

// operationsAPI serves what operators and tools ask for: the API's description, metrics and health.
type operationsAPI struct {
	metrics  *metrics
	policies *policyTable
	tokens   *access.Tokens
	// private returns the name of an experiment that is or was private, "" if there is none.
	private  func() string
	writer   *writer
	draining <-chan struct{}
}

func (a *operationsAPI) routes() []web.Route {
	const tag = "service"
	itDoes := web.Answers{200: web.Plain("It does", "text/plain")}
	return []web.Route{
		{
			Method: "GET", Pattern: "/openapi.json", Serve: a.openapi,
			ID: "getOpenAPI", Tag: tag, Summary: "This document",
			Answers: web.Answers{200: web.JSON("OpenAPI 3.1", anyObject)},
		},
		{
			Method: "GET", Pattern: "/metrics", Role: access.Read, Scoped: true, Serve: a.showMetrics,
			ID: "getMetrics", Tag: tag, Summary: "Metrics for Prometheus",
			About: "A token that is limited to some experiments gets the metrics with the label of one of these. " +
				"While an experiment is or was private, a token without the role admin for all experiments gets only " +
				"metrics that do not move with its feedback.",
			Answers: web.Answers{200: web.Plain("Text format", "text/plain")},
		},
		{
			Method: "GET", Pattern: "/livez", Serve: a.livez,
			ID: "getLivez", Tag: tag, Summary: "The process works; 503 asks for a restart", Answers: itDoes,
		},
		{
			Method: "GET", Pattern: "/readyz", Serve: a.readyz,
			ID: "getReadyz", Tag: tag, Summary: "The service decides", Answers: itDoes,
		},
		{
			Method: "GET", Pattern: "/readyz/writes", Serve: a.readyWrites,
			ID: "getReadyWrites", Tag: tag, Summary: "The service takes feedback, exposures and changes",
			Answers: itDoes,
		},
	}
}

func (a *operationsAPI) openapi(w http.ResponseWriter, _ *http.Request) error {
	return document().Write(w, http.StatusOK, "application/json")
}

// showMetrics answers with the metrics, for who is limited to some experiments with those that have
// the label of one of these. Those that say how much work there is also say how much feedback
// private experiments get, so they are for the role admin if there is one.
func (a *operationsAPI) showMetrics(w http.ResponseWriter, r *http.Request) error {
	var keep func(name string) bool
	if p := access.ScopeOf(r.Context()); p.Limited() {
		keep = func(name string) bool { return a.policies.mayUse(p, name) }
	}
	return a.metrics.serve(w, r, keep, !operates(a.tokens, r) && a.private() != "")
}

// livez answers whether the process works. It does not if its log has failed for long and a restart
// may help.
func (a *operationsAPI) livez(w http.ResponseWriter, _ *http.Request) error {
	if a.writer.recovery.hopeless() {
		return web.Unavailable(errors.New("the log has failed and could not be opened again: restart the service"))
	}
	return writeOK(w)
}

// readyz answers whether the service decides.
func (a *operationsAPI) readyz(w http.ResponseWriter, _ *http.Request) error {
	select {
	case <-a.draining:
		return web.Unavailable(errDraining)
	default:
	}
	if err := a.writer.node.stale(); err != nil {
		return web.Unavailable(err)
	}
	if err := a.writer.node.synchronous(); err != nil {
		return web.Unavailable(err)
	}
	return writeOK(w)
}

// readyWrites answers whether the service takes requests that write.
func (a *operationsAPI) readyWrites(w http.ResponseWriter, _ *http.Request) error {
	select {
	case <-a.draining:
		return web.Unavailable(errDraining)
	default:
	}
	if err := a.writer.refusal(); err != nil {
		return web.Unavailable(err)
	}
	if !a.writer.leads.Load() && a.writer.node.leader() == "" {
		return web.Unavailable(errNoLeader)
	}
	if err := a.writer.node.synchronous(); err != nil {
		return web.Unavailable(err)
	}
	return writeOK(w)
}

func writeOK(w http.ResponseWriter) error {
	return web.WriteBytes(w, http.StatusOK, "text/plain; charset=utf-8", []byte("ok\n"))
}
