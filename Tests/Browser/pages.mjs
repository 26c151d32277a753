// Opens the page and reads its state.

/** Opens an address and waits until its rows are shown. */
export async function openPage(browser, address, options) {
  const page = await browser.open(address, options);
  await page.until(() => ['live', 'plain'].includes(globalThis.livefetch?.page.live?.state));
  return page;
}

export const isSaved = () => {
  const { editing: { staged, saving } } = globalThis.livefetch.page;
  return staged.count === 0 && !saving.isBusy;
};

export const stagedValues = () => globalThis.livefetch.page.editing.staged.list.map(({ values }) => values);
