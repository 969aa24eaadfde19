package scoring

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/noregret/noregret/api"
	"github.com/noregret/noregret/dataset"
	"github.com/noregret/noregret/server/internal/web"
)

// PredictRequest is the body of POST /v1/predict in JSON: the rows, each an object with the values
// of the model's columns by their names.
type PredictRequest struct {
	Rows []json.RawMessage `json:"rows"`
}

// PredictAnswer is the answer to POST /v1/predict.
type PredictAnswer struct {
	// Predictions are in the order of the rows.
	Predictions []Prediction `json:"predictions"`
	// Ignored is the number of values that were left out because the model has no such feature.
	Ignored int64 `json:"ignored"`
	// IgnoredColumns are the first columns that have some of these values.
	IgnoredColumns []dataset.IgnoredColumn `json:"ignored_columns,omitempty"`
}

// Prediction is the answer to a row. For a model of two classes it has Label, Score and, if the
// model is calibrated, Probability: that of the positive label. For one of several classes it has
// Label, Scores and Probabilities, for one of several labels Labels in place of Label.
type Prediction struct {
	ID            string             `json:"id"`
	Label         *string            `json:"label,omitempty"`
	Labels        *[]string          `json:"labels,omitempty"`
	Score         *float64           `json:"score,omitempty"`
	Probability   *float64           `json:"probability,omitempty"`
	Scores        map[string]float64 `json:"scores,omitempty"`
	Probabilities map[string]float64 `json:"probabilities,omitempty"`
}

// LabelRequest is the body of POST /v1/labels.
type LabelRequest struct {
	Labels []LabelItem `json:"labels"`
}

// LabelItem is the label of a row that was predicted.
type LabelItem struct {
	// ID is that of the prediction.
	ID string `json:"id"`
	// Label is the true label; of a model of several labels their list, separated by commas or as
	// an array.
	Label TrueLabel `json:"label"`
}

// TrueLabel is a label as text. In JSON it may be a number, true (1), false (0) or an array of
// these and of texts.
type TrueLabel string

// UnmarshalJSON implements [json.Unmarshaler].
func (l *TrueLabel) UnmarshalJSON(b []byte) error {
	*l = ""
	if b[0] != '[' {
		return l.one(b)
	}
	var list []json.RawMessage
	if err := web.DecodeJSON(b, &list); err != nil {
		return err
	}
	for i, raw := range list {
		var one TrueLabel
		if err := one.one(raw); err != nil {
			return err
		}
		if one == "" || strings.Contains(string(one), ",") {
			return fmt.Errorf("%.60q in an array of labels: want labels that are not empty and have no comma", one)
		}
		if i > 0 {
			*l += ","
		}
		*l += one
	}
	return nil
}

// one reads a label that is no array.
func (l *TrueLabel) one(b []byte) error {
	switch {
	case string(b) == "true":
		*l = "1"
	case string(b) == "false":
		*l = "0"
	case b[0] == '-' || b[0]-'0' <= 9:
		*l = TrueLabel(b)
	case b[0] == '"':
		return web.DecodeJSON(b, (*string)(l))
	default:
		return fmt.Errorf("%.60s: want a label as text or number, or an array of labels", b)
	}
	return nil
}

// LabelAnswer is the answer to POST /v1/labels.
type LabelAnswer struct {
	// Results are in the order of the items.
	Results []api.ItemResult `json:"results"`
}

// ModelAnswer is the answer to GET /v1/model.
type ModelAnswer struct {
	Task      string   `json:"task"`
	Measure   string   `json:"measure"`
	Algorithm string   `json:"algorithm"`
	Labels    []string `json:"labels"`
	// Thresholds are those of the labels; of two classes one.
	Thresholds []float64 `json:"thresholds"`
	Features   int       `json:"features"`
	Calibrated bool      `json:"calibrated"`
	// Digest names the model that the service was started with.
	Digest string `json:"digest"`
	// Expected is the measure to expect on new rows by its training, null if it is not known.
	Expected *Expected `json:"expected"`
	// Learning says how the model goes on, null if it does not.
	Learning *Learning `json:"learning"`
	// State says how the state is saved, null if it is not.
	State *State `json:"state"`
	// Counts are the numbers of rows and labels so far.
	Counts Counts `json:"counts"`
	// Figures are values of the predictions as they were answered, on labelled rows.
	Figures Figures `json:"figures"`
}

// State says how the state is saved.
type State struct {
	// Unsaved is the number of rows and labels that are not in the file.
	Unsaved int64 `json:"unsaved"`
	// Failing says that the last save failed: another try comes within a minute.
	Failing bool `json:"failing"`
}

// Learning says how a model learns from labels.
type Learning struct {
	// Learned is the number of rows that it has learned from, Held that of those that wait for the
	// first step, and Skipped that of those that were far larger than these.
	Learned int64 `json:"learned"`
	Held    int64 `json:"held"`
	Skipped int64 `json:"skipped"`
	// Stopped says why it learns no more, and that the model of the start predicts.
	Stopped string `json:"stopped,omitempty"`
}

// Expected is a figure of the training with its interval of 95 %.
type Expected struct {
	Value float64 `json:"value"`
	Low   float64 `json:"low"`
	High  float64 `json:"high"`
}

// Counts are numbers since the first start of the service with its data.
type Counts struct {
	Predictions uint64 `json:"predictions"`
	// Waiting is the number of rows whose label is accepted and has not come.
	Waiting   int    `json:"waiting"`
	Accepted  uint64 `json:"accepted"`
	Duplicate uint64 `json:"duplicate"`
	Late      uint64 `json:"late"`
	Rejected  uint64 `json:"rejected"`
	Dropped   uint64 `json:"dropped"`
}

// Figures are values on labelled rows, null where they are undefined.
type Figures struct {
	// Rows is the number of labelled rows, and Value the measure of all of them.
	Rows  int64    `json:"rows"`
	Value *float64 `json:"value"`
	// Window has the latest of them.
	Window Window `json:"window"`
}

// Window has the values of the latest labelled rows: the measure, the share of rows without a
// mistake and, for two classes, the area under the ROC curve and, if the model is calibrated, the
// log loss and the Brier score.
type Window struct {
	Rows     int      `json:"rows"`
	Value    *float64 `json:"value"`
	Accuracy *float64 `json:"accuracy"`
	AUC      *float64 `json:"auc"`
	LogLoss  *float64 `json:"log_loss"`
	Brier    *float64 `json:"brier"`
}
