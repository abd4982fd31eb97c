const suppression = /^\s*(?:oxlint|eslint)-disable/
const reasoned = /\s--\s+\S/

/** A switched-off rule says why, after two dashes, or the next reader can only guess. */
export const reasons = {
  meta: { type: 'suggestion' },
  create(context) {
    return {
      Program() {
        for (const comment of context.sourceCode.getAllComments()) {
          if (!suppression.test(comment.value) || reasoned.test(comment.value)) continue
          context.report({ loc: comment.loc, message: 'A suppression needs its reason: … -- reason.' })
        }
      },
    }
  },
}
