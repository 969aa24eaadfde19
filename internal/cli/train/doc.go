// Package train has the commands of classifiers: train, with and without differential privacy,
// evaluate, predict, inspect and compare, cache and generate for data, algorithms and measures for
// what there is, and the demonstration of classifiers.
//
// All read data as package dataflags says. evaluate and predict read them with the feature space of
// a model.
package train
