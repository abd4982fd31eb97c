/** Waits until a new key is used for the first time. Operators see the request. */
import { useQuery } from '@tanstack/react-query'
import { CircleCheck } from 'lucide-react'

import { formatDuration, formatTime } from '../i18n/format.ts'
import { useTexts } from '../i18n/texts.ts'
import { kinoraAdmin } from '../service.ts'
import { hasRole, useSession } from '../session/session.ts'
import { keyQuery, type Key, type Manager } from './key-access.ts'
import { keyTexts } from './texts.ts'

import styles from './first-request.module.css'

const pollMs = 2_500

export const FirstRequest = ({ keyRow, manager }: { keyRow: Key; manager: Manager }) => {
  const { first: texts } = useTexts(keyTexts)
  const session = useSession()
  const { data } = useQuery({
    ...keyQuery(session, keyRow.id, manager.isOperator),
    refetchInterval: ({ state }) => ((state.data?.key.last_used_at ?? null) === null ? pollMs : false),
  })
  const usedAt = data?.key.last_used_at ?? null
  const isOperator = hasRole(session, 'read', 'support', 'finance')
  // The request is in the log a second or two after its response.
  const { data: request } = useQuery({
    queryKey: ['keys', 'first-request', keyRow.id],
    queryFn: async () => (await kinoraAdmin.requests.list({ key_id: keyRow.id, limit: 1 })).data[0] ?? null,
    enabled: isOperator && usedAt !== null,
    refetchInterval: ({ state }) => ((state.data ?? null) === null ? pollMs : false),
  })
  const found = request ?? null
  return (
    <div role="status" className={usedAt === null ? styles['waiting'] : styles['received']}>
      {usedAt === null ? <i className={styles['dot']} aria-hidden /> : <CircleCheck aria-hidden />}
      <div>
        <p className="medium">{usedAt === null ? texts.waiting : texts.received}</p>
        <p className="small-text">
          {usedAt === null
            ? texts.waitingDetail
            : found === null
              ? texts.at(formatTime(usedAt))
              : texts.request(found.method, found.path, found.status, formatDuration(found.duration_ms))}
        </p>
        {found !== null && (
          <p className="small-text">
            {texts.from(found.user_agent ?? texts.unknownClient, found.address)}
            {` · ${formatTime(found.at)}`}
          </p>
        )}
      </div>
    </div>
  )
}
