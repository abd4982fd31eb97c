/** The task as the API returns it, in both dialects, and as operators read it. */
import { Kinora } from '@kinora/client'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'

import { useTexts } from '../../i18n/texts.ts'
import { Card } from '../../ui/card.tsx'
import { Segmented } from '../../ui/choice.tsx'
import { Code } from '../../ui/code.tsx'
import { ErrorPanel, Skeleton } from '../../ui/feedback.tsx'
import { taskKey, type TaskView } from './task-data.ts'
import { taskTexts } from './texts.ts'

import styles from './json-card.module.css'

/** The same client, whose paths are those of the `openai` SDKs. */
const openAi = new Kinora({
  baseUrl: location.origin,
  fetch: (url, init) => fetch(url.replace(`${location.origin}/v1/`, `${location.origin}/openai/v1/`), init),
})

type Dialect = 'kinora' | 'openai' | 'operator'

export const JsonCard = ({ view }: { view: TaskView }) => {
  const { json: texts } = useTexts(taskTexts)
  const [chosen, setDialect] = useState<Dialect>('kinora')
  const dialects: Dialect[] = [
    ...(view.own === null ? [] : (['kinora', 'openai'] as const)),
    ...(view.any === null ? [] : (['operator'] as const)),
  ]
  const dialect = dialects.includes(chosen) ? chosen : (dialects[0] ?? 'kinora')
  const { data, error, refetch } = useQuery({
    queryKey: [...taskKey(view.id), 'openai'],
    queryFn: () => openAi.videos.get(view.id),
    enabled: dialect === 'openai',
  })
  const shown = { kinora: view.own?.video, openai: data, operator: view.any?.task }[dialect]
  return (
    <Card
      isFlush
      title={texts.title}
      actions={
        dialects.length > 1 && (
          <Segmented
            label={texts.dialect}
            options={dialects.map((value) => ({ value, label: texts[value] }))}
            value={dialect}
            onChange={setDialect}
          />
        )
      }
    >
      {shown !== undefined ? (
        <div className={styles['json']}>
          <Code text={JSON.stringify(shown, null, 2)} name={texts.name} />
        </div>
      ) : error === null ? (
        <Skeleton height={320} />
      ) : (
        <ErrorPanel error={error} onRetry={() => void refetch()} />
      )}
    </Card>
  )
}
