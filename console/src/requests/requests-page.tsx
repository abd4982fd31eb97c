/** `/requests`: the request log, and its errors by cause. One request is shown in a sheet. */
import { useNavigate, useSearch } from '@tanstack/react-router'
import { useRef } from 'react'

import { commonTexts } from '../i18n/common.ts'
import { useTexts } from '../i18n/texts.ts'
import { Page } from '../shell/page.tsx'
import { Segmented } from '../ui/choice.tsx'
import { ErrorsView } from './errors/errors-view.tsx'
import { FilterBar } from './filter-bar.tsx'
import type { RequestSearch } from './filters.ts'
import { RequestsView } from './list/requests-view.tsx'
import { RequestSheet } from './request-sheet.tsx'
import { requestTexts } from './texts.ts'

import styles from './requests-page.module.css'

export const RequestsPage = () => {
  const texts = useTexts(requestTexts)
  const common = useTexts(commonTexts)
  const navigate = useNavigate({ from: '/requests' })
  const search: RequestSearch = useSearch({ from: '/shell/requests' })
  const searchField = useRef<HTMLInputElement>(null)
  const isErrors = search.view === 'errors'
  const change = (changes: { [Name in keyof RequestSearch]?: string | undefined }) => {
    const merged: RequestSearch = Object.fromEntries(
      Object.entries({ ...search, ...changes }).filter(([, value]) => value !== undefined),
    )
    void navigate({ search: merged, replace: true, resetScroll: false })
  }
  const view = (
    <Segmented
      label={texts.view.label}
      options={[
        { value: 'requests', label: texts.view.requests },
        { value: 'errors', label: texts.view.errors },
      ]}
      value={isErrors ? 'errors' : 'requests'}
      onChange={(value) => change({ view: value === 'errors' ? value : undefined })}
    />
  )
  return (
    <Page
      title={common.pages.requests}
      heading={
        <div className="row">
          <h1>{common.pages.requests}</h1>
          <span className={`${styles['view']} wide-only`}>{view}</span>
        </div>
      }
    >
      <div className={styles['requests']}>
        <div className="phone-only">{view}</div>
        <FilterBar search={search} isErrors={isErrors} onChange={change} searchField={searchField} />
        {isErrors ? (
          <ErrorsView search={search} onChange={change} />
        ) : (
          <RequestsView search={search} onChange={change} searchField={searchField} />
        )}
      </div>
      <RequestSheet id={search.id} search={search} onClose={() => change({ id: undefined })} />
    </Page>
  )
}
