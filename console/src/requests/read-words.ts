export type Words =
  | { kind: 'request' | 'task' | 'path' | 'address'; value: string }
  | { kind: 'unknown' }
  | { kind: 'nothing' }

/** What somebody searches for. Ids and addresses have forms of their own. */
export const readWords = (typed: string): Words => {
  const value = typed.trim()
  if (value === '') return { kind: 'nothing' }
  if (/^req_[\w-]+$/.test(value)) return { kind: 'request', value }
  if (value.startsWith('/')) return { kind: 'path', value }
  if (/^\d{1,3}(\.\d{1,3}){3}$/.test(value) || /^[\da-f]*:[\da-f:.]*:[\da-f:.]*$/i.test(value))
    return { kind: 'address', value }
  if (/^\S+:\S+$/.test(value) || /^video_\S+$/.test(value)) return { kind: 'task', value }
  return { kind: 'unknown' }
}
