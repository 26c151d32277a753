// The manual's search: /docs/search.json is loaded at the first use and searched in the browser. The
// pages need no script for anything else but the list of pages, which is open on a wide screen.

const query = document.getElementById('query')
const results = document.getElementById('results')
const maxResults = 12

const pages = document.querySelector('.pages details')
const wide = matchMedia('(min-width: 62rem)')
const openPages = () => { pages.open = wide.matches }
wide.addEventListener('change', openPages)
openPages()

let index
const loadIndex = () => (index ??= fetch('/docs/search.json').then((answer) => answer.json()))

// A section is found if it has every word. A word counts more in headings and titles, if it is
// repeated, and if it begins a word of the text.
function rank([, title, , heading, text], words) {
  const name = (title + ' ' + heading).toLowerCase()
  const body = text.toLowerCase()
  let sum = 0
  for (const word of words) {
    const places = Math.min(starts(body, word), 8)
    if ((heading || title).toLowerCase() === word) sum += 20
    if (starts(name, word)) sum += 10 + places
    else if (places) sum += 1 + places
    else if (name.includes(word) || body.includes(word)) sum += 1
    else return 0
  }
  return sum
}

// How many words of a text begin with a word.
function starts(text, word) {
  const literal = word.replace(/[.*+?^${}()|[\]\\/]/g, '\\$&')
  return text.match(new RegExp(`(?<![\\p{L}\\p{N}])${literal}`, 'gu'))?.length ?? 0
}

function excerpt(text, word) {
  const at = Math.max(0, text.toLowerCase().indexOf(word) - 40)
  return (at > 0 ? '…' : '') + text.slice(at, at + 120) + (at + 120 < text.length ? '…' : '')
}

function entry([page, title, anchor, heading, text], words) {
  const item = document.createElement('li')
  const link = document.createElement('a')
  link.href = (page === 'index' ? '/docs/' : `/docs/${page}.html`) + '#' + anchor
  link.textContent = heading ? `${title}: ${heading}` : title
  const small = document.createElement('small')
  small.textContent = excerpt(text, words[0])
  link.append(small)
  item.append(link)
  return item
}

function note(text) {
  const item = document.createElement('li')
  const line = document.createElement('p')
  line.textContent = text
  item.append(line)
  return item
}

async function search() {
  const typed = query.value
  const words = typed.toLowerCase().split(/\s+/).filter(Boolean)
  if (!words.length) return close()
  let sections
  try {
    sections = await loadIndex()
  } catch {
    index = undefined
    return show([note('The search index could not be loaded.')])
  }
  if (query.value !== typed) return
  const found = sections.map((section) => [rank(section, words), section])
    .filter(([sum]) => sum > 0).sort((a, b) => b[0] - a[0]).slice(0, maxResults)
  show(found.length ? found.map(([, section]) => entry(section, words)) : [note('Nothing found.')])
}

function show(items) {
  results.replaceChildren(...items)
  results.hidden = false
}

function close() {
  results.hidden = true
}

query.addEventListener('focus', () => loadIndex().catch(() => { index = undefined }))
query.addEventListener('input', search)
results.addEventListener('click', close)
document.addEventListener('click', (event) => { if (!event.target.closest('search')) close() })

document.addEventListener('keydown', (event) => {
  const links = [...results.querySelectorAll('a')]
  const at = links.indexOf(document.activeElement)
  if (event.key === '/' && !event.target.closest('input')) query.focus()
  else if (event.key === 'Escape') close()
  else if (event.key === 'Enter' && event.target === query && links.length) links[0].click()
  else if (event.key === 'ArrowDown' && !results.hidden && links.length) {
    links[Math.min(at + 1, links.length - 1)].focus()
  } else if (event.key === 'ArrowUp' && at >= 0) (links[at - 1] ?? query).focus()
  else return
  event.preventDefault()
})
