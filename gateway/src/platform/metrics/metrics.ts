/**
 * Records metrics. Until `startMetrics` has loaded the SDK, recording does nothing and costs almost nothing. Values of labels
 * are checked here, so that no text of a caller can become one.
 */
import type { Attributes } from '@opentelemetry/api'

import type { Label, LabelSource, MetricRow } from './metric-row.ts'
import { metricTable, type MetricName } from './metric-table.ts'

type Table = typeof metricTable
type NamesOf<Type extends MetricRow['type']> = {
  [Name in MetricName]: Table[Name]['type'] extends Type ? Name : never
}[MetricName]
export type CounterName = NamesOf<'counter'>
export type GaugeName = NamesOf<'gauge'>
export type HistogramName = NamesOf<'histogram'>

type ValueOf<Given> = Given extends readonly (infer Value)[] ? Value : string
/** A label that does not apply is undefined. */
export type LabelsOf<Name extends MetricName> = {
  [Key in keyof Table[Name]['labels']]: ValueOf<Table[Name]['labels'][Key]> | undefined
}

/** A value with its labels. */
export type Observed<Name extends MetricName> = [value: number, labels: LabelsOf<Name>]

/** What the SDK records with. */
export interface Instruments {
  add: (name: CounterName, amount: number, attributes: Attributes) => void
  record: (name: HistogramName, value: number, attributes: Attributes) => void
}

let instruments: Instruments | undefined

/** Begins to record, or stops it. Returns what recorded before. */
export const recordWith = (given: Instruments | undefined): Instruments | undefined => {
  const before = instruments
  instruments = given
  return before
}

/** Whether metrics are recorded; for work that only metrics need. */
export const isMeasured = (): boolean => instruments !== undefined

const other = '_OTHER'
/** Bounds every label, whatever its source gives. */
const valuesMax = 200
const shape = /^[\w.:/ -]{1,100}$/

const isKnown = new Map<LabelSource, (value: string) => boolean>()

/** Decides which values of a source are configured; without it, a source may give any names. */
export const limitLabel = (source: LabelSource, accept: (value: string) => boolean): void => {
  isKnown.set(source, accept)
}

/** Values of sources that must be configured, as soon as someone can say so. */
const configured = new Set<LabelSource>(['models', 'upstream models', 'providers'])

const createCheck = (label: Label): ((value: string) => boolean) => {
  if (typeof label !== 'string') {
    const allowed = new Set<string>(label)
    return (value) => allowed.has(value)
  }
  return (value) => {
    const seen = seenValues.get(label) ?? new Set<string>()
    if (seen.has(value)) return true
    const mayBeUsed = configured.has(label)
      ? (isKnown.get(label)?.(value) ?? false)
      : (isKnown.get(label)?.(value) ?? shape.test(value))
    if (!mayBeUsed || seen.size >= valuesMax) return false
    seenValues.set(label, seen.add(value))
    return true
  }
}
/** All metrics share the values of a source, so that a model has its name in all of them or in none. */
const seenValues = new Map<LabelSource, Set<string>>()

const checks = Object.fromEntries(
  Object.entries<MetricRow>(metricTable).map(([name, { labels }]) => [
    name,
    Object.entries(labels).map(([key, label]) => ({ key, allows: createCheck(label) })),
  ]),
) as Record<MetricName, { key: string; allows: (value: string) => boolean }[]>

/** The labels of a value as attributes, with `_OTHER` for each value that is not allowed. */
export const attributesOf = <Name extends MetricName>(name: Name, labels: LabelsOf<Name>): Attributes => {
  const attributes: Attributes = {}
  for (const { key, allows } of checks[name]) {
    const value = (labels as Record<string, string | undefined>)[key]
    if (value !== undefined) attributes[key] = allows(value) ? value : other
  }
  return attributes
}

/** Adds to a counter. */
export const count = <Name extends CounterName>(name: Name, labels: LabelsOf<Name>, amount = 1): void => {
  if (instruments === undefined || !(amount >= 0)) return
  instruments.add(name, amount, attributesOf(name, labels))
}

/** Adds a value to a histogram. */
export const measure = <Name extends HistogramName>(
  name: Name,
  value: number,
  labels: LabelsOf<Name>,
): void => {
  if (instruments === undefined || Number.isNaN(value)) return
  instruments.record(name, Math.max(0, value), attributesOf(name, labels))
}

/** The seconds since a time of `performance.now()`. */
export const secondsSince = (startedMs: number): number => (performance.now() - startedMs) / 1000

type Reader = () => Observed<MetricName>[]
type Readers = { [Name in GaugeName]: () => Observed<Name>[] }
const readers = new Map<GaugeName, Set<Reader>>()

/** Reads a gauge whenever metrics are collected. It must be cheap. Returns the function that ends this. */
export const observe = <Name extends GaugeName>(name: Name, read: Readers[Name]): (() => void) => {
  const ofName = readers.get(name) ?? new Set()
  readers.set(name, ofName.add(read))
  return () => ofName.delete(read)
}

/** Everything that is observed of a gauge now. */
export const readGauge = (name: GaugeName): { value: number; attributes: Attributes }[] =>
  [...(readers.get(name) ?? [])].flatMap((read) =>
    read().map(([value, labels]) => ({ value, attributes: attributesOf(name, labels) })),
  )

const collectors = new Set<() => void>()

/** Calls back before each collection, for counters that are read rather than counted. */
export const beforeCollection = (work: () => void): (() => void) => {
  collectors.add(work)
  return () => collectors.delete(work)
}

export const prepareCollection = (): void => {
  for (const work of collectors) work()
}
