/** Failed requests by cause: how many, since when, whom they affect, and what to do. */
import { keepPreviousData, useQuery } from '@tanstack/react-query'

import { formatNumber, formatTime } from '../../i18n/format.ts'
import { useTexts } from '../../i18n/texts.ts'
import { kinoraAdmin } from '../../service.ts'
import { Card } from '../../ui/card.tsx'
import { ErrorPanel, Note, Skeleton } from '../../ui/feedback.tsx'
import { buildErrorParams, errorFilterNames, type FilterName, type RequestSearch } from '../filters.ts'
import { NoMatch } from '../no-match.tsx'
import { requestTexts } from '../texts.ts'
import { ErrorGroup } from './error-group.tsx'

/** Counting reads much of the log. */
const refetchMs = 20_000

interface ErrorsViewProps {
  search: RequestSearch
  onChange: (changes: { [Name in FilterName]?: undefined }) => void
}

export const ErrorsView = ({ search, onChange }: ErrorsViewProps) => {
  const texts = useTexts(requestTexts)
  const { id: _id, view: _view, q: _q, status: _status, ...filters } = search
  const { data, error, refetch } = useQuery({
    queryKey: ['request-errors', filters],
    queryFn: () => kinoraAdmin.requests.errors({ ...buildErrorParams(filters, Date.now()), limit: 100 }),
    refetchInterval: refetchMs,
    placeholderData: keepPreviousData,
  })
  if (error !== null && data === undefined) return <ErrorPanel error={error} onRetry={() => void refetch()} />
  if (data === undefined) return <Skeleton height={520} />
  if (data.data.length === 0)
    return (
      <NoMatch
        title={texts.errors.none}
        detail={texts.errors.noneDetail}
        search={search}
        names={errorFilterNames}
        onChange={onChange}
      />
    )
  return (
    <>
      {error !== null && <ErrorPanel error={error} onRetry={() => void refetch()} />}
      {!data.is_complete && <Note kind="warning">{texts.errors.partial(formatTime(data.counted_from))}</Note>}
      <Card
        title={texts.errors.title(data.groups, data.total)}
        {...(data.groups > data.data.length && {
          note: texts.errors.more(formatNumber(data.data.length), formatNumber(data.groups)),
        })}
        isFlush
      >
        <ul aria-label={texts.errors.list}>
          {data.data.map((group) => (
            <ErrorGroup
              key={JSON.stringify([
                ...[group.error_code, group.status, group.operation],
                ...[group.model, group.provider],
              ])}
              group={group}
              search={filters}
            />
          ))}
        </ul>
      </Card>
    </>
  )
}
