/** What this tab has asked for: in progress first, then the results. */
import type { ReactNode } from 'react'

import { useTexts } from '../../../i18n/texts.ts'
import { Card } from '../../../ui/card.tsx'
import { EmptyState, ErrorPanel, Skeleton } from '../../../ui/feedback.tsx'
import { videoTexts } from '../texts.ts'
import { RunProgress } from './run-progress.tsx'
import { RunResult } from './run-result.tsx'
import { isActive, useRuns, type Run } from './runs.ts'

interface ResultsProps {
  onEdit: (run: Run) => void
  /** What to do while there is nothing. */
  suggestions: ReactNode
}

export const Results = ({ onEdit, suggestions }: ResultsProps) => {
  const texts = useTexts(videoTexts)
  const { data: runs, error, refetch } = useRuns()
  if (runs === undefined)
    return error === null ? (
      <Skeleton height={320} />
    ) : (
      <ErrorPanel error={error} onRetry={() => void refetch()} />
    )
  const active = runs.filter(isActive)
  if (runs.length === 0)
    return (
      <Card aria-label={texts.results}>
        <EmptyState title={texts.noRuns} actions={suggestions}>
          {texts.noRunsDetail}
        </EmptyState>
      </Card>
    )
  return (
    <>
      {active.length > 0 && (
        <Card title={texts.inProgress} note={texts.running(active.length)} isFlush>
          <ul>
            {active.map((run) => (
              <RunProgress key={run.id} run={run} />
            ))}
          </ul>
        </Card>
      )}
      {runs
        .filter((run) => !isActive(run))
        .map((run) => (
          <RunResult key={run.id} run={run} onEdit={onEdit} />
        ))}
    </>
  )
}
