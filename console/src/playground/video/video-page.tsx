/** The playground for video: a form, what it costs, and the videos that this tab has asked for. */
import { useQuery } from '@tanstack/react-query'
import { useNavigate, useSearch } from '@tanstack/react-router'
import { Columns2, X } from 'lucide-react'

import { useTexts } from '../../i18n/texts.ts'
import { Balance } from '../../shell/balance.tsx'
import { Page } from '../../shell/page.tsx'
import { Button } from '../../ui/button.tsx'
import { EmptyState, ErrorPanel, Skeleton } from '../../ui/feedback.tsx'
import { playgroundTabs, playgroundTexts } from '../tabs.ts'
import { readDraft } from './draft.ts'
import { modelsQuery, readLastUsed } from './models/models-query.ts'
import { offersOf, sortPlain } from './offers.ts'
import { Playground } from './playground.tsx'
import { videoTexts } from './texts.ts'

import styles from './video-page.module.css'

export const VideoPage = () => {
  const texts = useTexts(videoTexts)
  const tabs = useTexts(playgroundTexts)
  const { compare } = useSearch({ from: '/shell/playground/video' })
  const models = useQuery(modelsQuery)
  const navigate = useNavigate()
  const isComparing = compare !== undefined
  const offers = offersOf(models.data ?? [])
  const toggleCompare = () => {
    const wanted = [readDraft().model, ...readLastUsed(), ...sortPlain(offers).map(({ model }) => model.id)]
    const known = wanted.filter((id) => id !== undefined && offers.some(({ model }) => model.id === id))
    const first = [...new Set(known)].slice(0, 2)
    void navigate({ to: '/playground/video', search: isComparing ? {} : { compare: first.join(',') } })
  }
  return (
    <Page
      title={tabs.title}
      tabs={playgroundTabs(tabs)}
      actions={
        <>
          <Balance />
          {offers.length > 1 && (
            <span className={isComparing ? '' : 'wide-only'}>
              <Button icon={isComparing ? <X /> : <Columns2 />} onPress={toggleCompare}>
                {isComparing ? texts.compare.leave : texts.compare.start}
              </Button>
            </span>
          )}
        </>
      }
    >
      {models.data === undefined ? (
        models.isError ? (
          <ErrorPanel error={models.error} onRetry={() => void models.refetch()} />
        ) : (
          <div className={styles['split']}>
            <Skeleton height={640} />
            <Skeleton height={320} />
          </div>
        )
      ) : offers.length === 0 ? (
        <EmptyState title={texts.noModels}>{texts.noModelsDetail}</EmptyState>
      ) : (
        <Playground offers={offers} />
      )}
    </Page>
  )
}
