/** Reads PromQL: which series an expression selects, and which labels it groups by. */
import { parser } from '@prometheus-io/lezer-promql'

type Tree = ReturnType<typeof parser.parse>
type Node = Tree['topNode']

export interface Matcher {
  label: string
  operator: string
  value: string
}

interface Selector {
  /** Empty if the expression selects by labels only. */
  metric: string
  matchers: Matcher[]
  text: string
}

export interface ReadExpression {
  selectors: Selector[]
  /** Labels of `by`, `without`, `on`, `ignoring` and `group_left`. */
  grouping: string[]
}

/** Parses an expression after variables of Grafana have been replaced. Throws if it is not valid. */
const parseExpression = (expression: string): Node => {
  const { topNode } = parser.parse(expression)
  topNode.cursor().iterate((node) => {
    if (!node.type.isError) return
    throw new Error(`not PromQL at ${node.from}: ${expression}`)
  })
  return topNode
}

const unquoted = (text: string): string =>
  JSON.parse(`"${text.slice(1, -1).replaceAll('\\.', '\\\\.')}"`) as string

const nodesIn = (root: Node, ...names: string[]): Node[] => {
  const found: Node[] = []
  root.cursor().iterate(({ name, node }) => {
    if (names.includes(name)) found.push(node)
  })
  return found
}

export const readExpression = (expression: string): ReadExpression => {
  const root = parseExpression(expression)
  const textOf = ({ from, to }: Node) => expression.slice(from, to)
  const childText = (node: Node, name: string) => {
    const child = node.getChild(name)
    return child === null ? '' : textOf(child)
  }
  const selectors = nodesIn(root, 'VectorSelector').map((node) => ({
    metric: childText(node, 'Identifier'),
    matchers: nodesIn(node, 'UnquotedLabelMatcher').map((matcher) => ({
      label: childText(matcher, 'LabelName'),
      operator: childText(matcher, 'MatchOp'),
      value: unquoted(childText(matcher, 'StringLiteral')),
    })),
    text: textOf(node),
  }))
  const grouping = nodesIn(root, 'GroupingLabels').flatMap((node) =>
    nodesIn(node, 'LabelName').map((label) => textOf(label)),
  )
  return { selectors, grouping }
}

const conditions = ['And', 'Or', 'Unless', 'Eql', 'Neq', 'Gtr', 'Gte', 'Lss', 'Lte']

/**
 * The parts of an expression that return series although its condition does not hold: the operands of `and`, `or`, `unless` and of
 * comparisons, and what `absent` is given. Parts without a metric are left out.
 */
export const partsOf = (expression: string): string[] => {
  const textOf = ({ from, to }: Node) => expression.slice(from, to)
  const isCondition = (node: Node): boolean =>
    node.name === 'BinaryExpr'
      ? childrenOf(node).some(({ name }) => conditions.includes(name))
      : node.name === 'FunctionCall' && textOf(node).startsWith('absent')
  const hasCondition = (node: Node) => nodesIn(node, 'BinaryExpr', 'FunctionCall').some(isCondition)
  const parts = (node: Node): string[] => {
    if (nodesIn(node, 'VectorSelector').length === 0) return []
    const isWhole = isEvaluable(node) && !hasCondition(node)
    return isWhole ? [textOf(node)] : childrenOf(node).flatMap(parts)
  }
  return parts(parseExpression(expression))
}

const isEvaluable = ({ name }: Node) =>
  !['PromQL', 'ParenExpr', 'FunctionCallBody', 'MatrixSelector'].includes(name)

const childrenOf = (node: Node): Node[] => {
  const children: Node[] = []
  for (let child = node.firstChild; child !== null; child = child.nextSibling) children.push(child)
  return children
}
