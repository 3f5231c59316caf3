"""Guards of pages and photos."""

from tests.mutants.cutting import Mutant

MUTANTS = (
    Mutant(
        "nonce in the filter",
        "nodes/types.py::Expected.as_filter",
        '"metadata.nonce": self.nonce,',
        "",
        "tests/nodes/services/test_races.py::test_of_64_saves_of_one_nonce_one_wins_each_round",
    ),
    Mutant(
        "merge base",
        "nodes/services/editing.py::save",
        "base, tags = base_for(node_id, seen_nonce, present, form, tags)",
        "pass",
        "tests/nodes/services/test_races.py::test_eight_editors_of_other_fields_and_paragraphs_all_survive",
    ),
    Mutant(
        "version after write",
        "nodes/services/write.py::compare_and_set",
        "touch(scope.of(stored, after, found), scope.tags(stored, after, tags))",
        "pass",
        "tests/cms/test_page_cache.py::test_readers_between_any_two_commands_of_a_save_leave_nothing_stale",
    ),
    Mutant(
        "what is due counts as live",
        "nodes/services/write.py::compare_and_set",
        'not_due = {"draft.due": {"$eq": due, "$gt": moment} if due else None}',
        "not_due = {}",
        "tests/nodes/services/test_scheduled.py::test_saving_the_live_page_never_ends_a_schedule_that_falls_due_before_it_is_written",
    ),
    Mutant(
        "type check",
        "nodes/services/write.py::check_place",
        "if not may_hold(above, type):",
        "if False:",
        "tests/nodes/services/test_editing.py::test_parent_of_the_wrong_type_is_refused",
    ),
    Mutant(
        "a full section",
        "nodes/services/write.py::check_room",
        "if section and most is not None and lists.standing_in([section.id], most) >= most:",
        "if False:",
        "tests/nodes/content/test_rules.py::test_a_full_section_takes_no_more",
    ),
    Mutant(
        "what matches nothing is not kept",
        "nodes/views/pages.py::_narrowed",
        "if found.nodes:",
        "if True:",
        "tests/nodes/views/test_facets.py::test_what_matches_nothing_is_neither_counted_nor_kept",
    ),
    Mutant(
        "type of a picture, by its bytes",
        "nodes/photos/assets/formats.py::of",
        "if found is None:\n    raise BadPicture(_reason(head))",
        "found = found or JPEG",
        "tests/nodes/photos/assets/test_bad_pictures.py::test_a_bad_file_is_refused_with_a_reason_and_leaves_nothing",
    ),
    Mutant(
        "a colour profile once",
        "nodes/photos/assets/jpeg.py::_Profile.part",
        "if self._is_whole or self._length > LONGEST_PIECE:",
        "if self._length > LONGEST_PIECE:",
        "tests/nodes/photos/assets/test_cleaning.py::test_part_behind_a_whole_colour_profile_is_refused",
    ),
    Mutant(
        "no more stored than came",
        "nodes/photos/assets/cleaning.py::Cleaning._hashed",
        "if self._yielded > self._received + SLACK:",
        "if False:",
        "tests/nodes/photos/assets/test_lengths.py::test_parser_that_yields_too_much_is_stopped",
    ),
    Mutant(
        "lock in the replacing update",
        "nodes/services/photos.py::_show",
        'still = {"metadata.locked": lock.moment} | (',
        "still = {} | (",
        "tests/faults/test_photo_crashes.py::test_a_lock_lost_between_the_look_and_the_write_replaces_nothing",
    ),
    Mutant(
        "threads that wait for copies",
        "nodes/photos/assets/renditions.py",
        "_turns = threading.BoundedSemaphore(AT_ONCE)",
        "_turns = threading.BoundedSemaphore(1000)",
        "tests/nodes/views/test_photo_files.py::test_fifty_who_ask_for_copies_that_are_not_made_hold_up_no_reader",
    ),
    Mutant(
        "crop before scaling",
        "nodes/photos/assets/images.py::resized",
        'seen = _resized(image, _stored_box(part, turned, image.size), stored_size, on_white=to == "JPEG")',
        "factor = max(size[0] / shown[0], size[1] / shown[1])\n"
        "whole = (round(image.width * factor), round(image.height * factor))\n"
        'seen = _resized(image, (0, 0, *image.size), whole, on_white=to == "JPEG")\n'
        "seen = ImageOps.fit(seen, stored_size)",
        "tests/nodes/photos/test_every_copy.py::test_square_is_cropped_before_it_is_scaled",
    ),
    Mutant(
        "pixels that are scaled at once",
        "nodes/photos/assets/images.py::_resized",
        "rows = max(int(BAND / (last - first) / down), 1)",
        "rows = size[1]",
        "tests/nodes/photos/test_every_copy.py::test_large_picture_is_scaled_in_bands",
    ),
    Mutant(
        "pixels of a copy",
        "nodes/photos/assets/framing.py::scaled",
        "factor = min(width / across, 1, math.sqrt(MOST_PIXELS / (across * down)))",
        "factor = min(width / across, 1)",
        "tests/nodes/photos/test_every_copy.py::test_copy_of_a_very_tall_picture_has_bounded_pixels",
    ),
    Mutant(
        "bound of a text",
        "nodes/services/editing.py::normalized",
        "check_lengths(fields)",
        "",
        "tests/nodes/services/test_text_bounds.py",
    ),
    Mutant(
        "bound of what two texts merge to",
        "nodes/services/write.py::compare_and_set",
        "check_lengths(changes)",
        "",
        "tests/nodes/services/test_text_bounds.py",
    ),
    Mutant(
        "rate of previews",
        "nodes/admin/writing.py::show_typed",
        "if not _may_preview(request.user, sent):",
        "if False:",
        "tests/nodes/admin/test_writing.py",
    ),
    Mutant(
        "access function",
        "nodes/access.py::_checked",
        "if found is None or not allowed(user, found.node, Action.VIEW):",
        "if found is None:",
        "tests/nodes/admin/test_rights.py::test_stranger_to_a_node_gets_404_everywhere",
    ),
    Mutant(
        "live in readers' queries",
        "nodes/selectors/listing.py::live",
        'return {"metadata.published": {"$lte": moment}, "metadata.expires": {"$gt": moment}}',
        'return {"metadata.published": {"$lte": moment}}',
        "tests/rights/test_leaks.py",
    ),
)
