/** What an id leads to. Ids are recognized by their form; the screen says if there is nothing. */
import type { texts as commonTexts } from '../i18n/common.en.ts'
import { hasRole, hasScope, type Session } from '../session/session.ts'

interface Target {
  id: string
  label: string
  /** Path and query below the console. */
  to: string
}

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i
const requestId = /^req_[\w-]+$/
const taskId = /^[\w.-]+:[\w-]+$/

export const findTargets = (typed: string, session: Session, texts: typeof commonTexts): Target[] => {
  if (typed.length < 6) return []
  const isOperator = hasRole(session, 'read', 'support', 'finance')
  const encoded = encodeURIComponent(typed)
  const found: Target[] = []
  if (taskId.test(typed) || typed.startsWith('video_') || uuid.test(typed))
    found.push({ id: 'task', label: texts.jumpTargets.task(typed), to: `/tasks/${encoded}` })
  if (requestId.test(typed) && isOperator)
    found.push({ id: 'request', label: texts.jumpTargets.request(typed), to: `/requests?id=${encoded}` })
  if ((uuid.test(typed) || typed.startsWith('key_')) && hasScope(session, 'account'))
    found.push({ id: 'key', label: texts.jumpTargets.key(typed), to: `/keys?id=${encoded}` })
  return found
}
