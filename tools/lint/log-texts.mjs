const levels = new Set(['trace', 'debug', 'info', 'warn', 'error', 'fatal'])

const isLog = (node) => {
  if (node?.type === 'Identifier') return /^log$|Log$/.test(node.name)
  return node?.type === 'MemberExpression' && node.property.name === 'log'
}

/** The fields of `log.info(fields, event)` and of the built-in provider's `log(event, fields)`. */
const fieldsOf = ({ callee, arguments: given }) => {
  const isLevel = callee.type === 'MemberExpression' && levels.has(callee.property.name)
  if (!(isLevel ? isLog(callee.object) : isLog(callee))) return []
  const fields = given[isLevel ? 0 : 1]
  return fields?.type === 'ObjectExpression' ? fields.properties : []
}

const isMessage = (node) =>
  (node.type === 'MemberExpression' && ['message', 'stack', 'detail'].includes(node.property.name)) ||
  (node.type === 'CallExpression' && node.callee.name === 'String')

/** Messages of errors quote what a caller has sent. The log takes errors as `err`, which leaves them out. */
export const logTexts = {
  meta: { type: 'problem' },
  create: (context) => ({
    CallExpression(node) {
      for (const { value } of fieldsOf(node)) {
        const parts = value?.type === 'TemplateLiteral' ? value.expressions : [value]
        for (const part of parts) {
          if (part === undefined || !isMessage(part)) continue
          context.report({
            node: part,
            message: 'The message of an error may quote a caller. Log `err: error`, which leaves it out.',
          })
        }
      }
    },
  }),
}
