const disableComment = /^\s*(?:oxlint|eslint)-disable/
const withReason = /\s--\s+\S/

/** Requires a reason, after two dashes, in every comment that disables a lint rule. */
export const disableReasons = {
  meta: { type: 'suggestion' },
  create(context) {
    return {
      Program() {
        for (const comment of context.sourceCode.getAllComments()) {
          if (!disableComment.test(comment.value) || withReason.test(comment.value)) continue
          context.report({
            loc: comment.loc,
            message: 'Add the reason after two dashes: oxlint-disable-next-line <rule> -- <reason>.',
          })
        }
      },
    }
  },
}
