/**
 * Cuts an ONNX model in two at some of its tensors, so that the second half can run many times on parts of the output of
 * the first half. Only the structure of the file is parsed. Nodes and weights are copied unchanged.
 */

/** Field numbers of the ONNX messages. */
const modelGraph = 7
const graph = { node: 1, name: 2, initializer: 5, input: 11, output: 12 }
const node = { input: 1, output: 2 }
const initializerName = 8
const valueName = 1

interface Field {
  number: number
  /** Including its number and length. */
  whole: Buffer
  content: Buffer
}

interface Node {
  whole: Buffer
  inputs: string[]
  outputs: string[]
}

export interface CutModel {
  /** Produces the tensors of the cut. */
  first: () => Buffer
  /** Takes the tensors of the cut and some inputs of the model, and produces the outputs of the model. */
  second: () => Buffer
}

export function cutModel(model: Buffer, cut: readonly string[]): CutModel {
  const outline = [...fieldsOf(model)]
  const parts = [...fieldsOf(outline.find(({ number }) => number === modelGraph)!.content)]
  const named = (number: number, nameField: number) =>
    new Map(
      parts
        .filter((part) => part.number === number)
        .map(({ whole, content }) => [textsOf(content, nameField)[0]!, whole]),
    )
  const initializers = named(graph.initializer, initializerName)
  const inputs = named(graph.input, valueName)
  const outputs = named(graph.output, valueName)
  const nodes = parts
    .filter(({ number }) => number === graph.node)
    .map(({ whole, content }): Node => ({
      whole,
      inputs: textsOf(content, node.input),
      outputs: textsOf(content, node.output),
    }))
  const makers = new Map(nodes.flatMap((each) => each.outputs.map((output) => [output, each])))
  const missing = cut.filter((tensor) => !makers.has(tensor))
  if (missing.length > 0) throw new Error(`The model has no tensor ${missing.join(', ')}.`)

  /** The part of the model that computes `wanted` from `given`. */
  function half(wanted: readonly string[], given: readonly string[]): Buffer {
    const reached = new Set(given)
    const chosen = new Set<Node>()
    const open = [...wanted]
    for (let tensor = open.pop(); tensor !== undefined; tensor = open.pop()) {
      const maker = makers.get(tensor)
      if (reached.has(tensor)) continue
      reached.add(tensor)
      if (maker === undefined) continue
      chosen.add(maker)
      open.push(...maker.inputs)
    }
    const value = (number: number, declared: ReadonlyMap<string, Buffer>) => (name: string) =>
      declared.get(name) ?? floatValue(number, name)
    const content = [
      ...nodes.filter((each) => chosen.has(each)).map(({ whole }) => whole),
      field(graph.name, Buffer.from('half')),
      ...[...initializers].flatMap(([name, whole]) => (reached.has(name) ? whole : [])),
      ...[...inputs.keys(), ...given].filter((name) => reached.has(name)).map(value(graph.input, inputs)),
      ...wanted.map(value(graph.output, outputs)),
    ]
    return Buffer.concat([
      ...outline.flatMap(({ number, whole }) => (number === modelGraph ? [] : whole)),
      ...lengthened(modelGraph, content),
    ])
  }

  return { first: () => half(cut, []), second: () => half([...outputs.keys()], cut) }
}

function* fieldsOf(message: Buffer): Generator<Field> {
  let place = 0
  const varint = () => {
    let value = 0
    for (let scale = 1; ; scale *= 128) {
      const byte = message.readUInt8(place++)
      value += (byte & 127) * scale
      if (byte < 128) return value
    }
  }
  while (place < message.length) {
    const from = place
    const key = varint()
    const kind = key & 7
    let length = 0
    if (kind === 0) varint()
    else length = kind === 2 ? varint() : kind === 5 ? 4 : 8
    const content = message.subarray(place, place + length)
    place += length
    yield { number: Math.floor(key / 8), whole: message.subarray(from, place), content }
  }
}

function textsOf(message: Buffer, number: number): string[] {
  const texts: string[] = []
  for (const each of fieldsOf(message)) if (each.number === number) texts.push(each.content.toString('utf8'))
  return texts
}

/** A float tensor of unknown shape. */
function floatValue(number: number, name: string): Buffer {
  const float = Buffer.from([8, 1])
  return field(number, Buffer.concat([field(valueName, Buffer.from(name)), field(2, field(1, float))]))
}

function field(number: number, content: Buffer): Buffer {
  return Buffer.concat(lengthened(number, [content]))
}

function lengthened(number: number, contents: Buffer[]): Buffer[] {
  const length = contents.reduce((sum, { length: each }) => sum + each, 0)
  return [varintOf(number * 8 + 2), varintOf(length), ...contents]
}

function varintOf(value: number): Buffer {
  const bytes: number[] = []
  let left = value
  for (; left >= 128; left = Math.floor(left / 128)) bytes.push((left % 128) | 128)
  return Buffer.from([...bytes, left])
}
