/** Members whose value differs when a workflow is replayed, with their replacements. */
const unrepeatableMembers = {
  Date: { now: 'ctx.date.now()' },
  Math: { random: 'ctx.rand.random()' },
  performance: { now: 'ctx.date.now()' },
  crypto: { '*': 'ctx.rand, or a ctx.run step' },
  process: { '*': 'a value passed as an argument' },
  globalThis: {
    fetch: 'a ctx.run step',
    crypto: 'ctx.rand, or a ctx.run step',
    process: 'a value passed as an argument',
  },
}

const unrepeatableCalls = {
  fetch: 'a ctx.run step',
  randomUUID: 'ctx.rand.uuidv4()',
  randomBytes: 'ctx.rand, or a ctx.run step',
  randomInt: 'ctx.rand, or a ctx.run step',
  setTimeout: 'ctx.sleep',
  setInterval: 'ctx.sleep in a loop',
  setImmediate: 'nothing',
  Date: 'ctx.date.now()',
}

/** Combinators of engine promises; the engine journals their result. */
const engineCombinators = new Set(['RestatePromise', 'CombineablePromise'])

/**
 * A workflow is replayed from its journal, so the code between two steps must be deterministic. In functions whose first
 * parameter is `ctx`, anything else belongs in `ctx.run`.
 */
export const journaled = {
  meta: { type: 'problem' },
  create(context) {
    if (!context.filename.endsWith('.workflow.ts')) return {}
    /** For each function around the current node, whether its code is replayed. */
    const replayed = []
    const fromContext = new Set()
    const isReplayed = () => replayed.at(-1) === true
    const isFromContext = (node) => {
      const root = rootOf(node)
      return root === 'ctx' || fromContext.has(root) || engineCombinators.has(root) || takesContext(node)
    }
    const forbid = (node, what, instead) =>
      context.report({
        node,
        message: `${what} is not journaled: a replayed workflow would get another value. Use ${instead}.`,
      })
    const enter = (node) => {
      if (isStep(node)) replayed.push(false)
      else replayed.push(isReplayed() || nameOf(node.params[0]) === 'ctx')
    }
    const leave = () => replayed.pop()

    return {
      FunctionDeclaration: enter,
      FunctionExpression: enter,
      ArrowFunctionExpression: enter,
      'FunctionDeclaration:exit': leave,
      'FunctionExpression:exit': leave,
      'ArrowFunctionExpression:exit': leave,
      VariableDeclarator(node) {
        if (isReplayed() && node.init && isFromContext(node.init))
          for (const name of namesIn(node.id)) fromContext.add(name)
      },
      MemberExpression(node) {
        if (!isReplayed() || node.object.type !== 'Identifier') return
        const { name } = node.object
        if (!Object.hasOwn(unrepeatableMembers, name)) return
        const member = node.computed ? node.property.value : node.property.name
        const instead = unrepeatableMembers[name][member] ?? unrepeatableMembers[name]['*']
        if (instead !== undefined) forbid(node, `${name}.${member}`, instead)
      },
      NewExpression(node) {
        // With an argument it only converts a value, which is deterministic.
        const readsClock = node.callee.name === 'Date' && node.arguments.length === 0
        if (isReplayed() && readsClock) forbid(node, 'new Date()', 'ctx.date.now()')
      },
      CallExpression(node) {
        const name = node.callee.type === 'Identifier' ? node.callee.name : ''
        if (isReplayed() && Object.hasOwn(unrepeatableCalls, name))
          forbid(node, `${name}()`, unrepeatableCalls[name])
      },
      AwaitExpression(node) {
        const awaited = unwrapped(node.argument)
        if (!isReplayed() || awaited.type !== 'CallExpression' || isFromContext(awaited)) return
        forbid(node, 'Awaiting anything but the context', 'a ctx.run step')
      },
    }
  },
}

/** Whether a function is the step that `ctx.run` executes. */
function isStep(node) {
  const call = node.parent
  if (call?.type !== 'CallExpression' || !call.arguments.includes(node)) return false
  const callee = unwrapped(call.callee)
  return (
    callee.type === 'MemberExpression' && nameOf(callee.object) === 'ctx' && callee.property.name === 'run'
  )
}

/** A function that receives the context is checked by this rule itself. */
function takesContext(node) {
  const call = unwrapped(node)
  return (
    call.type === 'CallExpression' && call.callee.type === 'Identifier' && nameOf(call.arguments[0]) === 'ctx'
  )
}

/** The leftmost name of a chain: `ctx` for `ctx.run(…).map(…)`. */
function rootOf(node) {
  let current = unwrapped(node)
  while (current.type === 'CallExpression' || current.type === 'MemberExpression') {
    current = unwrapped(current.type === 'CallExpression' ? current.callee : current.object)
    // restate.RestatePromise.all is RestatePromise.all with the import spelled out.
    if (current.type === 'MemberExpression' && engineCombinators.has(current.property.name))
      return current.property.name
  }
  return nameOf(current)
}

function unwrapped(node) {
  const isWrapper = /^(AwaitExpression|ChainExpression|ParenthesizedExpression|TS\w+Expression)$/.test(
    node.type,
  )
  return isWrapper ? unwrapped(node.argument ?? node.expression) : node
}

function namesIn(pattern) {
  if (pattern?.type === 'ObjectPattern')
    return pattern.properties.flatMap((part) => namesIn(part.value ?? part.argument))
  if (pattern?.type === 'ArrayPattern') return pattern.elements.flatMap(namesIn)
  if (pattern?.type === 'AssignmentPattern') return namesIn(pattern.left)
  return pattern?.name === undefined ? [] : [pattern.name]
}

function nameOf(node) {
  return node?.type === 'Identifier' ? node.name : undefined
}
